class A { String x = "one
two"; }
