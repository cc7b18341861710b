package p

var a = b || c && d == e != f < g <= h > i >= j + k - l | m ^ n * o / p % q << r >> s & t &^ u
var v = -a + +b ^ ^c; var w = !d; var x = *e; var y = &f; var z = <-g
var aa = h.i.j[k][l:m][:n][o:][:][p:q:r][:s:t].u(v)(w, x...).(y).(*z[int])
var bb = []int{1, 2: 3, 'a': 4}; var cc = [...]string{"a", "b",}; var dd = map[string][]T{"x": {{1}, {2}}, "y": {}}
var ee = T{}; var ff = &T{1, 2}; var gg = p.T{a: 1, b: {2}}; var hh = struct{ a int }{1}; var ii = T[int]{}; var jj = [][]int{{1}, {}}
var kk = func(a int) int { return a }; var ll = func() {}; var mm = (a); var nn = []byte("x"); var oo = (*T)(nil); var pp = (func())(x); var qq = chan int(x); var rr = interface{}(1)
var ss = make([]int, 2); var tt = new(map[string]int); var uu = f[int](1); var vv = g[int, string](); var ww = h(struct{}{}, []int{}...)
