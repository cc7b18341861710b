``; `a`; `$`; `$$`; `a${b}c${`d${{ e: 1 }.e}f`}g`; `\`\${}`; `line
line`; tag`x${function () { return 1 }}y`; a.b`c`; `$${a}$`; `{${'}'}}`;
