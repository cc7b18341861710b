package p

var a = f(
	1,
	2
)
