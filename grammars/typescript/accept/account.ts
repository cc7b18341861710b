class Account {
  private balance: number = 0;
  static count = 0;
  readonly owner: string;
  constructor(owner: string, private readonly limit: number, public note: string = "") {
    this.owner = owner;
    Account.count += 1;
  }
  deposit(amount: number): boolean {
    if (amount <= 0 || this.balance + amount > this.limit) { return false; }
    this.balance += amount;
    return true;
  }
  get_balance(): number { return this.balance; }
  merge(other: Account): Account { other.balance = 0; this.note += other.note; return this; }
}
const account = new Account("Ada", 100);
if (account.deposit(10) && !account.deposit(1000)) { account.note = `${account.owner}: ${account.get_balance()}`; }
const again: Account = account.merge(new Account("Bob", 5, "new")).merge(account);
