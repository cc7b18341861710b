// Command hello says hello.
package main

import "fmt"

func main() {
	name := "world" // a comment ends with its line
	fmt.Printf("Hello, %s!\n", name)
}
