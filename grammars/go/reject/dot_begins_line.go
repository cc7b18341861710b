package p

var a = b
	.c()
