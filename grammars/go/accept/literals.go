package p

var a = []any{0, 1, 017, 0o17, 0x1F, 0b101, 1_000, 0x_F, 1., .5, 1.5e3, 1E-3, 0x1p3, 0X.8P-2, 1i, .5i, 0x1i, 089.5, 089i}
var b = []rune{'a', '\n', '\'', '\\', '\x41', '\101', '\u00e9', '\U0001F600', 'é', '"'}
var c = []string{"", "a\"b\\c\n\x41\101\u00e9", `raw \ "string"
of lines`, "é", ``}
var naïve, 名, _x1 = 1, 2, 3
