var a = "one
two"
