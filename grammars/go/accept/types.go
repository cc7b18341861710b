package p

type a struct {
	b, c int `json:"b"`
	d
	*e.F "tag"
	G[int]
	h func(i, j int) (k string)
	l struct{ m, n []byte }
	o interface{}
	_ [4]int; p [n + 1]*[]chan<- <-chan map[string]func()
}
type (
	q interface {
		r(s int) error
		t; u.V
		~int | string | []byte
		w[int]
	}
	x chan struct{}
	y func(a, b int, c ...func(...int)) (func(), error)
	z [2][3](*int)
	aa[P *T | int, Q interface{ ~[]P }] []Q
	bb[T any] map[string]cc[T]
)
