// An answer in words, where it has what one looks for: the balances of an account.

import { isObject } from "./explorer-exact.js";

// A sentence on the answer of an operation; empty if there is none. `names` are the known names of accounts by their id.
export function wordsOf({ operation, values }, { status, body }, names) {
  if (operation.id !== "account_balance" || status !== 200 || !isObject(body)) return "";
  const name = names.get(values.query.account_id ?? values.query.iban) ?? "The account";
  const ofAccounts = (body.accounts ?? []).map((account) => `${account.name ?? name}: ${money(account.balance, account.currency)}`);
  const ofTypes = (body.balances ?? []).filter(({ balance_amount: amount }) => isObject(amount)).map((balance) => (
    `${name}: ${money(balance.balance_amount.amount, balance.balance_amount.currency)} (${balance.balance_type})`
  ));
  return [...ofAccounts, ...ofTypes].join(", ");
}

// An amount with all its digits, in groups of three.
function money(amount, currency) {
  const [whole, ...decimals] = String(amount ?? "–").split(".");
  return [[whole.replace(/\B(?=(\d{3})+$)/g, ","), ...decimals].join("."), currency].filter(Boolean).join(" ");
}
