package p

func f() {
	if (T{}) == x {
	}
	if x == (T{1}) && f(T{2}) && a[T{3}] {
	}
	for _, v := range []int{1, 2} {
	}
	switch x := (T{}).y; {
	}
	if f(func() { _ = T{} }) {
	}
	for x := a; x < b; x = x.next {
	}
}
