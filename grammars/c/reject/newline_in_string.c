char *s = "one
two";
