package p

var a = "one
two"
