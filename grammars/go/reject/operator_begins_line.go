package p

var a = 1
	+ 2
