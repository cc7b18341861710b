package p

var a []int = []int{1,
2}
var b = []int{1
}
