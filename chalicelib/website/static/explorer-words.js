// An answer in words, where it has what one looks for: the balances of an account.

import { isObject } from "./explorer-exact.js";

const BALANCES = ["unified_balances", "account_balance"];

// A sentence on the answer of an operation; empty if there is none. `names` are the known names of accounts by their id.
export function wordsOf({ operation, values }, { status, body }, names) {
  if (!BALANCES.includes(operation.id) || status !== 200 || !isObject(body)) return "";
  const name = names.get(values.query.account_id)?.replace(/ [A-Z]{2}\d{2}\w+$/, "") || "The account"; // without its IBAN
  const ofAccounts = (body.accounts ?? []).map((account) => `${account.name ?? name}: ${money(account.balance, account.currency)}`);
  const ofTypes = new Map();
  for (const balance of body.balances ?? []) {
    const amount = balance.amount ?? balance.balance_amount;
    if (!isObject(amount)) continue;
    const text = money(amount.value ?? amount.amount, amount.currency);
    ofTypes.set(text, [...(ofTypes.get(text) ?? []), (balance.type ?? balance.balance_type).replaceAll("_", " ")]);
  }
  if (!ofTypes.size) return ofAccounts.join(", ");
  const amounts = [...ofTypes].map(([text, types]) => (ofTypes.size === 1 ? text : `${text} (${types.join(", ")})`));
  return `${name}: ${amounts.join(", ")}`;
}

// An amount with all its digits, in groups of three.
function money(amount, currency) {
  const [whole, ...decimals] = String(amount ?? "–").split(".");
  return [[whole.replace(/\B(?=(\d{3})+$)/g, ","), ...decimals].join("."), currency].filter(Boolean).join(" ");
}
