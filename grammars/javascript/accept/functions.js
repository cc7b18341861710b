function f(a, b = 1, { c, d: [e] = [] } = {}, ...rest) { 'use strict'; return a, b }
function* g() { yield; yield* h(); const x = yield 1; }
async function k() { await l; for await (const m of n) { } }
async function* o() { yield await p }
const a = x => x, b = (x, y = 2) => ({ x, y }), c = async () => { }, d = async x => await x, e = ({ x }, [y]) => x ? y : z
const q = function r() { }, s = async function () { }, t = function* () { }
(function () { })(); (() => { })(); new function () { this.x = 1 }
function trailing(a, b,) { trailing(...a, b,) }
