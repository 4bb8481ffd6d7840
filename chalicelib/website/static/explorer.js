// The API explorer: the operations of a screen, with the credentials and the answers of this browser tab.

import { CallPanel } from "./explorer-call.js";
import { cardsParty } from "./explorer-cards.js";
import { Credentials } from "./explorer-credentials.js";
import { Specification } from "./explorer-document.js";
import { h } from "./explorer-dom.js";
import { OperationList } from "./explorer-list.js";
import { Memory } from "./explorer-memory.js";
import { OperationView } from "./explorer-operation.js";
import { tppParty } from "./explorer-tpp.js";

const place = document.getElementById("explorer");
const middle = document.getElementById("operation");
const side = document.getElementById("call");
const form = document.getElementById("credentials");

class Explorer {
  constructor() {
    this.service = `${location.origin}${place.dataset.path}`;
    this.party = (place.dataset.screen === "cards" ? cardsParty : tppParty)(place, form);
    this.memory = new Memory();
    this.facts = {};
    this.drafts = new Map();
    this.list = new OperationList(document.getElementById("operations"));
    this.credentials = new Credentials(form, this.party, {
      service: this.service,
      changed: (learnt, isReleased) => this.#credentialsChanged(learnt, isReleased),
    });
  }

  async start() {
    const [whole] = await Promise.all([
      fetch(place.dataset.document).then((answer) => answer.json()),
      this.credentials.start(),
    ]);
    this.specification = new Specification(whole, { isSandbox: place.dataset.isSandbox === "yes" });
    side.replaceChildren();
    this.panel = new CallPanel(side, this);
    this.#openAddressed();
    addEventListener("hashchange", () => this.#openAddressed());
    this.list.nav.addEventListener("click", (event) => event.target.closest("[aria-current]") && this.view.focus());
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.panel.run();
    });
    await this.#showAtOnce();
  }

  // A call that reads may be asked for by the address, together with those that lead to it; once, not on reloading.
  async #showAtOnce() {
    const wanted = place.dataset.show;
    if (!wanted) return;
    const address = new URL(location.href);
    address.searchParams.delete("show");
    history.replaceState(null, "", address);
    this.open("unified_accounts");
    await this.panel.run();
    const step = this.panel.steps.find(({ open }) => open === wanted);
    if (step) await this.panel.act(step);
  }

  get context() {
    const { specification, party, facts, memory } = this;
    const kindOf = (name) => party.kindOf(name);
    return {
      specification,
      party,
      facts,
      memory,
      isSecret: party.isSecret,
      suggests: (name) => Boolean(kindOf(name)),
      suggestions: (name) => memory.values(kindOf(name)),
    };
  }

  // -- Operations

  #openAddressed() {
    const wanted = location.hash.slice(1);
    const isKnown = this.list.links.some((each) => each.dataset.operation === wanted);
    if (wanted && !isKnown && this.view) return; // a link within the page, such as the one to its content
    this.#show(isKnown ? wanted : this.list.links[0].dataset.operation, isKnown);
  }

  // Opens an operation at its own address, and fills in values.
  open(id, values = {}) {
    if (this.view?.operation.id !== id) {
      history.pushState(null, "", `#${id}`);
      this.#show(id, true);
    }
    this.view.set(values);
    this.panel.showSample();
  }

  #show(id, isAsked) {
    if (this.view?.operation.id === id) return;
    const isAnother = this.view !== undefined;
    this.#keepDraft();
    this.#draw(id);
    this.list.show(id);
    const { top } = middle.getBoundingClientRect();
    if (isAsked && (top < 0 || top > innerHeight * 0.6)) middle.scrollIntoView({ block: "start" });
    if (isAnother) this.view.focus();
  }

  #draw(id) {
    this.view = new OperationView(this.specification.details(id), this.context, this.drafts.get(id));
    middle.replaceChildren(this.view.element);
    this.panel.show(this.view);
  }

  #keepDraft() {
    if (this.view?.isChanged) this.drafts.set(this.view.operation.id, this.view.draft());
  }

  // -- What becomes known

  learn(answer) {
    this.party.learnFrom(answer, this.memory);
    this.credentials.remember({ offers: this.memory.kinds });
    if (answer.operation.id === "token_revoke" && answer.status === 200) this.credentials.take();
  }

  #credentialsChanged(learnt, isReleased) {
    const { held } = this.credentials;
    this.facts = this.party.facts(learnt, held);
    if (isReleased) {
      this.memory.clear();
      this.drafts.clear();
      this.panel?.forget();
    } else if (held?.offers) this.memory.kinds = held.offers;
    if (!this.view) return;
    if (isReleased || !(this.view.isChanged || middle.contains(document.activeElement))) this.#draw(this.view.operation.id);
    else this.panel.showSample();
  }
}

new Explorer().start().catch((error) => {
  middle.replaceChildren(h("p", { class: "alert", role: "alert" }, "The OpenAPI document could not be loaded. Reload this page to try calls."));
  throw error;
});
