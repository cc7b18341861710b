x = /a
b/
