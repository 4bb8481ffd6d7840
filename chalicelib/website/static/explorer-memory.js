// What answers of this tab have named: ids, tokens and the like, the latest first, to be offered where a call needs them.

const KEPT = 12; // values of one kind

export class Memory {
  constructor(kept = {}) {
    this.kinds = kept;
    this.passing = {};
  }

  // Remembers a value; `passing` ones are forgotten with the page.
  add(kind, value, label = "", passing = false) {
    const text = String(value);
    const kinds = passing ? this.passing : this.kinds;
    const known = kinds[kind] ?? [];
    const before = known.find((each) => each.value === text);
    kinds[kind] = [{ value: text, label: label || before?.label || "" }, ...known.filter((each) => each !== before)].slice(0, KEPT);
  }

  values(kind) {
    return [...(this.passing[kind] ?? []), ...(this.kinds[kind] ?? [])];
  }

  latest(kind) {
    return this.values(kind)[0]?.value;
  }

  clear() {
    this.kinds = {};
    this.passing = {};
  }
}
