interface Node<T> { value: T; next: Node<T> | null }
function last<T>(node: Node<T>): T { let at = node; while (at.next !== null) { at = at.next; } return at.value; }
const list: Node<number> = { value: 1, next: { value: 2, next: null } };
const end: number = last(list);
function push<T>(list: Node<T> | null, value: T): Node<T> { return { value, next: list }; }
const more = push(list, 3);
console.log(more.next === null ? 0 : more.next.value + 1);
