[0, 1., .5, 1.5e-3, 1E+9, 0xFf, 0b101, 0o17, 1_000_000, 10n, 0xFFn, 017, 089];
['', "", 'it\'s', "\x41\u0041\u{1F600}\
next line", 'two words\0', "é", '\u2028'];
[/a/, /[/]\/(?:b)+?$/gi, /=/, /\//u, a / b / c, (a) / b, a++ / 2 / 3];
[true, false, null, undefined, NaN];
1..toString(), 1.0.toFixed();
