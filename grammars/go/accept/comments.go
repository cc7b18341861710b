/* before */ // the package
package p /**/

/* a */ var /* b */ a /* c */ = /* d */ 1 // e
/***/
// f /* g
var b = 2 /* h */ /* i */
// j
