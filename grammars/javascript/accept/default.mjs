export default class { }
export { }
