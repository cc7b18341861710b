/**/class/* a */A// b
{/* several
lines * / ** */int x;/***/}
// end
