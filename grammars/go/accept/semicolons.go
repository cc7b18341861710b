package /* a */ p

import
"a"

func f(
	a int,
	b ...string,
) (
	c int,
) {
	a = b +
		c *
			d
	e.
		f(
			g,
			h,
		).
		i(j)
	k := []int{
		1,
		2,
	}; l := T{
		m: 1, /* over
		lines */
	}
	if a &&
		b {
	} else
	if
	c {
	}
	var
	n int
	switch a {
	case 1,
		2:
	default
	:
	}
	return /* a comment over
	lines is a line's end */ }

func g() { a(); b() }; func h() {}
