import 'a'; import b from "b"; import * as c from 'c'
import d, { e, f as g, default as h, 'quoted name' as i } from 'd'
import j, * as k from "k"; import { } from 'l'
import data from './data.json' with { type: 'json' }
export * from 'm'; export * as n from 'n'; export { o, p as q, r as default, s as 'quoted' }
export { t } from 't'; export const u = 1, v = 2; export function w() { } export class X { }
export default async function () { }
const y = await z, url = import.meta.url
