if a:
        b
	c
