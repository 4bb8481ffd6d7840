// What one does next with an answer of the TPP API: addresses to open, and calls that need what the answer names.

import { isObject } from "./explorer-exact.js";

const ACCOUNTS = 4; // of which the next call is offered
const ADDRESSES = { redirect_url: "Authorize at the bank", confirmation_url: "Confirm at the bank" };

// The steps after an answer. Each has a label, and one of: `href`, a page in a new tab; `open`, an operation, with
// `values` and executed at once; `fetch`, a path to read with the same credentials; `use`, credentials; `again`.
export function stepsOfTpp({ operation, values, headers, path }, { status, body, location }, service) {
  if (status === 202 && location) return [{ label: "Fetch the outcome", fetch: location }];
  if (status >= 300 || !isObject(body)) return [];
  if (path && ["queued", "running"].includes(body.state)) return [{ label: "Fetch again", fetch: path }];
  if (path && body.state) return stepsOfTpp({ operation, values, headers }, { status: Number(String(body.status)), body: body.body }, service);
  const addresses = Object.entries(ADDRESSES).filter(([name]) => body[name]).map(([name, label]) => ({ label, href: String(body[name]) }));
  return [...addresses, ...(STEPS[operation.id]?.(body, values, { service, headers }) ?? []), ...nextPage(operation, values, body)];
}

// After an order: the operation `open` reads its status.
function statusBy(open) {
  return (body, values) => {
    const bic = values.body?.bic && String(values.body.bic);
    return [{ label: "Check the status", open, values: { payment_id: String(body.payment_id), bic } }];
  };
}

// After a list of accounts: the operation `open` reads the balances of one.
function balancesBy(open) {
  return (body) => (body.accounts ?? []).slice(0, ACCOUNTS).map((account) => ({
    label: `Balance of ${account.name ?? account.iban ?? account.account_id}`,
    open,
    values: { account_id: String(account.account_id ?? account.resource_id ?? account.id), iban: undefined },
  }));
}

function transactionsOf(body) {
  return [{ label: "Transactions of this account", open: "unified_transactions", values: { account_id: body.account_id } }];
}

function ofBalance(body, { query }) {
  const account = { account_id: query.account_id, iban: query.iban };
  if (body.balances) return [{ label: "Transactions of this account", open: "account_transactions", values: { account_id: query.account_id } }];
  return [{ label: "Payments of this account", open: "account_payments", values: account }];
}

function checkAgain() {
  return [{ label: "Check again", again: true }];
}

function ofTokens(body) {
  return [{ label: "Use the access token as bearer", use: { token: String(body.access_token) } }];
}

function ofPushed(body, values, { service, headers }) {
  const query = new URLSearchParams({ client_id: headers["X-Api-Key"] ?? values.body?.client_id, request_uri: body.request_uri });
  return [{ label: "Authorize in the browser", href: `${service}/oauth/authorize?${query}` }];
}

const STEPS = {
  unified_accounts: balancesBy("unified_balances"),
  unified_balances: transactionsOf,
  unified_payments: statusBy("unified_payment_status"),
  unified_bulk_payments: statusBy("unified_payment_status"),
  unified_direct_payments: statusBy("unified_payment_status"),
  unified_payment_status: checkAgain,
  accounts: balancesBy("account_balance"),
  account_balance: ofBalance,
  token: ofTokens,
  oauth_par: ofPushed,
  payment_initiation: statusBy("payment_status"),
  bulk_payment_initiation: statusBy("payment_status"),
  direct_payment_initiation: statusBy("payment_status"),
  payment_status: checkAgain,
  account_payments: (body) => (body.payments ?? []).slice(0, 1).map(({ id }) => (
    { label: `Details of payment ${id}`, open: "account_payment", values: { payment_id: String(id) } }
  )),
};

// The next page of a list, with all other values as they were.
function nextPage({ id }, { query }, body) {
  const limit = Number(String(body.paginator?.limit ?? Infinity));
  const page = Number(String(query.current_page ?? body.paginator?.current_page ?? 1));
  const more = {
    unified_transactions: () => body.next_cursor && { cursor: body.next_cursor },
    account_payments: () => body.payments?.length >= limit && { current_page: page + 1 },
    account_transactions: () => body.page_key && { page_key: String(body.page_key) },
    banks: () => Number(body.page) * Number(body.limit) < Number(body.total) && { page: Number(body.page) + 1 },
    consents: () => body.has_more === true && { after: String(body.next) },
    events: () => (body.has_more === true || body.events?.length > 0) && { after: String(body.next) },
  }[id]?.();
  return more ? [{ label: "Next page", open: id, values: more }] : [];
}
