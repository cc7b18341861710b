package p

func f(n int) (r int) {
	var a, b int = 1, 2; const c = 3
	type d int
	a, b = b, a; a += 1; b &^= 2; a <<= 3; e := 4; g, h := f(1), 2; a++; b--
	if a > b { return } else if c := a; c < b { a++ } else { b++ }
	if ; a == b {}
	for { break }
	for a < b { continue }
	for i := 0; i < n; i++ { }
	for ; ; { }
	for i, v := range x { }; for i = range x { }; for range x { }
outer:
	for a = 0; a < 1; { break outer }
	switch { case a > b, a < b: a = 1; fallthrough
	default:
	}
	switch a := b; a { case 1: case 2, 3: b++ }
	switch x := y.(type) { case int, *T, []string: case nil: default: }
	switch y.(type) {}
	select { case v := <-ch: case v, ok = <-ch: case ch <- 1: case <-ch: default: return 1 }
	go f(1); defer func() { recover() }(); goto end
	{ ; }; ch <- a + b; <-ch; f(a)
end:
}
