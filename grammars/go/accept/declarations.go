package p; import "a"; import (
	"b/c"; d "e"
	. `f`
	_ "g.h/i-j"
)
const a = 1; const b, c int = 2, 3
const (
	d = iota; e
	f, g
	h float64 = 1
)
var i int; var j, k = 1, 2
var (
	l []string = nil; m map[string]int
)
var ()
type (
	n int; o = p.Q
	r[T any] struct{}
)
func s(); func (t T) u() {}
func (v *V[K]) w(x, y int, z ...string) (aa int, err error) { return }
func bb(int, ...string) (int, error)
func cc[K comparable, V int | ~string](m map[K]V,) V { return m[*new(K)] }
