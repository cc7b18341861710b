"""The common names of ES2022, and `console`, as declarations that the monitor reads itself.

All members of their types are there; `Beyond` stands where a type is beyond the subset (overloads, iterators).
Not there: what needs what the grammar lacks (Promise, RegExp, Symbol), typed arrays, Intl, Proxy, Reflect and kin.
`tests/monitors/test_typescript_monitor.py` compares the names with those of the compiler's own library.
"""

from __future__ import annotations

from typing import NamedTuple


class Library(NamedTuple):
    """Declarations, and the names of types of which nothing is known, with the numbers of their arguments."""

    text: str
    opened: dict[str, int]


NEW = (
    "Map",
    "Set",
    "Error",
    "TypeError",
    "RangeError",
    "SyntaxError",
    "ReferenceError",
    "EvalError",
    "URIError",
    "Date",
)
LIBRARY = Library(
    """
interface Function { toString(): string; readonly length: number; readonly name: string; }
interface Object { toString(): string; toLocaleString(): string; valueOf(): Object;
  hasOwnProperty(v: string | number): boolean;
  isPrototypeOf(v: any): boolean; propertyIsEnumerable(v: string | number): boolean; }
interface Boolean { valueOf(): boolean; }
interface Number { toString(radix?: number): string; toFixed(fractionDigits?: number): string;
  toExponential(fractionDigits?: number): string; toPrecision(precision?: number): string; valueOf(): number;
  toLocaleString(locales?: any, options?: any): string; }
interface String { toString(): string; charAt(pos: number): string; charCodeAt(index: number): number;
  concat(...strings: string[]): string; indexOf(searchString: string, position?: number): number;
  lastIndexOf(searchString: string, position?: number): number; localeCompare(that: string, locales?: any,
  options?: any): number; match: Beyond;
  replace(searchValue: string, replaceValue: string | ((substring: string, ...args: any[]) => string)): string;
  search(regexp: string): number; slice(start?: number, end?: number): string; split(separator: string,
  limit?: number): string[];
  substring(start: number, end?: number): string; toLowerCase(): string; toLocaleLowerCase(locales?: any): string;
  toUpperCase(): string; toLocaleUpperCase(locales?: any): string; trim(): string; readonly length: number;
  substr(first: number, length?: number): string; valueOf(): string; codePointAt(pos: number): number | undefined;
  includes(searchString: string, position?: number): boolean; endsWith(searchString: string,
  endPosition?: number): boolean;
  normalize(form?: string): string; repeat(count: number): string;
  startsWith(searchString: string, position?: number): boolean; anchor(name: string): string; big(): string;
  blink(): string; bold(): string; fixed(): string; fontcolor(color: string): string; fontsize(size: any): string;
  italics(): string;
  link(url: string): string; small(): string; strike(): string; sub(): string; sup(): string;
  padStart(maxLength: number, fillString?: string): string; padEnd(maxLength: number, fillString?: string): string;
  trimEnd(): string; trimStart(): string; trimLeft(): string; trimRight(): string; matchAll: Beyond;
  replaceAll(searchValue: string, replaceValue: string | ((substring: string, ...args: any[]) => string)): string;
  at(index: number): string | undefined; }
interface Array<T> { length: number; toString(): string; toLocaleString(): string; pop(): T | undefined;
  push(...items: T[]): number; concat(...items: (T | T[])[]): T[]; join(separator?: string): string; reverse(): T[];
  shift(): T | undefined; slice(start?: number, end?: number): T[]; sort(compareFn?: (a: T, b: T) => number): T[];
  splice(start: number, deleteCount?: number, ...items: T[]): T[]; unshift(...items: T[]): number;
  indexOf(searchElement: T, fromIndex?: number): number; lastIndexOf(searchElement: T, fromIndex?: number): number;
  every(predicate: (value: T, index: number, array: T[]) => unknown): boolean;
  some(predicate: (value: T, index: number, array: T[]) => unknown): boolean;
  forEach(callbackfn: (value: T, index: number, array: T[]) => void): void;
  map<U>(callbackfn: (value: T, index: number, array: T[]) => U): U[];
  filter(predicate: (value: T, index: number, array: T[]) => unknown): T[]; reduce: Beyond; reduceRight: Beyond;
  find(predicate: (value: T, index: number, obj: T[]) => unknown): T | undefined;
  findIndex(predicate: (value: T, index: number, obj: T[]) => unknown): number; fill(value: T, start?: number,
  end?: number): T[];
  copyWithin(target: number, start: number, end?: number): T[]; entries: Beyond; keys: Beyond; values: Beyond;
  includes(searchElement: T, fromIndex?: number): boolean; flatMap: Beyond; flat: Beyond;
  at(index: number): T | undefined; }
interface Map<K, V> { clear(): void; delete(key: K): boolean;
  forEach(callbackfn: (value: V, key: K, map: Map<K, V>) => void): void; get(key: K): V | undefined;
  has(key: K): boolean;
  set(key: K, value: V): Map<K, V>; readonly size: number; entries: Beyond; keys: Beyond; values: Beyond; }
interface Set<T> { add(value: T): Set<T>; clear(): void; delete(value: T): boolean;
  forEach(callbackfn: (value: T, value2: T, set: Set<T>) => void): void; has(value: T): boolean; readonly size: number;
  entries: Beyond; keys: Beyond; values: Beyond; }
interface Error { name: string; message: string; stack?: string; cause?: unknown; }
interface TypeError extends Error { }
interface RangeError extends Error { }
interface SyntaxError extends Error { }
interface ReferenceError extends Error { }
interface EvalError extends Error { }
interface URIError extends Error { }
interface Date { toString(): string; toDateString(): string; toTimeString(): string; toLocaleString: Beyond;
  toLocaleDateString: Beyond; toLocaleTimeString: Beyond; valueOf(): number; getTime(): number; getFullYear(): number;
  getUTCFullYear(): number; getMonth(): number; getUTCMonth(): number; getDate(): number; getUTCDate(): number;
  getDay(): number; getUTCDay(): number; getHours(): number; getUTCHours(): number; getMinutes(): number;
  getUTCMinutes(): number; getSeconds(): number; getUTCSeconds(): number; getMilliseconds(): number;
  getUTCMilliseconds(): number; getTimezoneOffset(): number; setTime(time: number): number;
  setMilliseconds(ms: number): number; setUTCMilliseconds(ms: number): number; setSeconds(sec: number,
  ms?: number): number;
  setUTCSeconds(sec: number, ms?: number): number; setMinutes(min: number, sec?: number, ms?: number): number;
  setUTCMinutes(min: number, sec?: number, ms?: number): number;
  setHours(hours: number, min?: number, sec?: number, ms?: number): number;
  setUTCHours(hours: number, min?: number, sec?: number, ms?: number): number; setDate(date: number): number;
  setUTCDate(date: number): number; setMonth(month: number, date?: number): number;
  setUTCMonth(month: number, date?: number): number; setFullYear(year: number, month?: number, date?: number): number;
  setUTCFullYear(year: number, month?: number, date?: number): number; toUTCString(): string; toISOString(): string;
  toJSON(key?: any): string; }
interface Math { readonly E: number; readonly LN10: number; readonly LN2: number; readonly LOG2E: number;
  readonly LOG10E: number; readonly PI: number; readonly SQRT1_2: number; readonly SQRT2: number;
  abs(x: number): number;
  acos(x: number): number; asin(x: number): number; atan(x: number): number; atan2(y: number, x: number): number;
  ceil(x: number): number; cos(x: number): number; exp(x: number): number; floor(x: number): number;
  log(x: number): number; max(...values: number[]): number; min(...values: number[]): number;
  pow(x: number, y: number): number; random(): number; round(x: number): number; sin(x: number): number;
  sqrt(x: number): number; tan(x: number): number; clz32(x: number): number; imul(x: number, y: number): number;
  sign(x: number): number; log10(x: number): number; log2(x: number): number; log1p(x: number): number;
  expm1(x: number): number; cosh(x: number): number; sinh(x: number): number; tanh(x: number): number;
  acosh(x: number): number; asinh(x: number): number; atanh(x: number): number; hypot(...values: number[]): number;
  trunc(x: number): number; fround(x: number): number; cbrt(x: number): number; }
interface JSON { parse(text: string, reviver?: any): any; stringify(value: any, replacer?: any, space?: any): string; }
interface Console { log(...data: any[]): void; error(...data: any[]): void; warn(...data: any[]): void;
  info(...data: any[]): void; debug(...data: any[]): void; }
interface NumberConstructor { (value?: any): number; readonly MAX_VALUE: number; readonly MIN_VALUE: number;
  readonly NaN: number; readonly NEGATIVE_INFINITY: number; readonly POSITIVE_INFINITY: number;
  readonly EPSILON: number;
  isFinite(value: unknown): boolean; isInteger(value: unknown): boolean; isNaN(value: unknown): boolean;
  isSafeInteger(value: unknown): boolean; readonly MAX_SAFE_INTEGER: number; readonly MIN_SAFE_INTEGER: number;
  parseFloat(text: string): number; parseInt(text: string, radix?: number): number; }
interface StringConstructor { (value?: any): string; fromCharCode(...codes: number[]): string;
  fromCodePoint(...codePoints: number[]): string; raw: Beyond; }
interface BooleanConstructor { (value?: any): boolean; }
declare const Number: NumberConstructor;
declare const String: StringConstructor;
declare const Boolean: BooleanConstructor;
declare const Math: Math;
declare const JSON: JSON;
declare const console: Console;
declare const NaN: number;
declare const Infinity: number;
declare function parseInt(text: string, radix?: number): number;
declare function parseFloat(text: string): number;
declare function isNaN(value: number): boolean;
declare function isFinite(value: number): boolean;
declare function encodeURIComponent(uriComponent: string | number | boolean): string;
declare function decodeURIComponent(encodedURIComponent: string): string;
declare function encodeURI(uri: string): string;
declare function decodeURI(encodedURI: string): string;
declare function escape(text: string): string;
declare function unescape(text: string): string;
interface ObjectConstructor { (value?: any): any; getPrototypeOf: Beyond; getOwnPropertyDescriptor: Beyond;
  getOwnPropertyNames(o: any): string[]; create: Beyond; defineProperty: Beyond; defineProperties: Beyond;
  seal: Beyond; freeze: Beyond;
  preventExtensions: Beyond; isSealed(o: any): boolean; isFrozen(o: any): boolean; isExtensible(o: any): boolean;
  keys(o: any): string[];
  assign: Beyond; getOwnPropertySymbols: Beyond; is(value1: any, value2: any): boolean; setPrototypeOf: Beyond;
  values: Beyond;
  entries: Beyond; getOwnPropertyDescriptors: Beyond; fromEntries: Beyond; hasOwn(o: any, v: any): boolean; }
interface ArrayConstructor { (...items: any[]): any[]; isArray(arg: any): boolean; from: Beyond; of: Beyond; }
declare const Object: ObjectConstructor;
declare const Array: ArrayConstructor;
""",
    {"Beyond": 0, "Record": 2, "Partial": 1, "Required": 1, "Readonly": 1, "NonNullable": 1, "ReadonlyArray": 1},
)
