a
(b, c) => d
