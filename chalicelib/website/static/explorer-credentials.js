// Credentials: entered once, and kept for this browser tab and this user until Logout or the session's end. Once they are
// locked and good, their fields are folded, and a line says what they are.

export class Credentials {
  // `party` says what is entered and learnt; `changed` is called with what has been learnt each time.
  constructor(form, party, { service, changed }) {
    Object.assign(this, { form, party, service, changed, held: null, latest: 0 });
    this.button = form.querySelector("button[type=submit]");
    this.toggle = form.querySelector("[aria-expanded]");
    this.entry = document.getElementById("credentials-entry");
    this.more = document.getElementById("credentials-more");
    this.state = form.querySelector("[role=status]");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.held) this.release();
      else {
        this.take();
        this.#fold(party.isComplete(this.held));
      }
    });
    this.toggle.addEventListener("click", () => this.#fold(!this.entry.hidden));
    for (const name of party.replaceable) {
      party.fields[name].addEventListener("change", () => this.held && this.take());
    }
  }

  start() {
    const given = this.party.given(this.form, this.#kept()) ?? this.#kept();
    this.form.querySelector("fieldset").disabled = false;
    if (given) {
      this.#hold(given);
      this.#fold(this.party.isComplete(given));
    }
    return this.#learn();
  }

  // Locks what has been entered; what the tab remembers beside it stays.
  take() {
    const entered = Object.entries(this.party.fields).map(([name, field]) => [name, field.value.trim()]);
    this.#hold({ ...this.held, ...Object.fromEntries(entered) });
    return this.#learn();
  }

  // Uses another value at once, such as an access token from an answer.
  use(name, value) {
    this.party.fields[name].value = value;
    return this.take();
  }

  remember(members) {
    if (this.held) this.#hold({ ...this.held, ...members });
  }

  release() {
    this.held = null;
    sessionStorage.removeItem(this.party.keptAs);
    history.replaceState(null, "", location.pathname + location.hash);
    this.form.reset();
    for (const field of Object.values(this.party.fields)) {
      field.value = "";
      field.readOnly = false;
    }
    this.#show(false);
    this.#fold(false);
    return this.#learn();
  }

  #kept() {
    const found = JSON.parse(sessionStorage.getItem(this.party.keptAs));
    if (found && found.user === this.form.dataset.user) return found;
    sessionStorage.removeItem(this.party.keptAs);
    return null;
  }

  #hold(values) {
    this.held = { ...values, user: this.form.dataset.user };
    sessionStorage.setItem(this.party.keptAs, JSON.stringify(this.held));
    for (const [name, field] of Object.entries(this.party.fields)) {
      field.value = this.held[name] ?? "";
      field.readOnly = !this.party.replaceable.includes(name);
    }
    this.#show(true);
  }

  #show(isLocked) {
    this.button.textContent = isLocked ? "Logout" : "Lock";
    this.button.title = isLocked ? "Forget these credentials in this browser tab" : "";
    this.button.classList.toggle("quiet", isLocked);
    this.button.classList.toggle("slim", isLocked);
    this.form.classList.toggle("locked", isLocked);
    this.toggle.hidden = !isLocked;
  }

  #fold(isFolded) {
    if (isFolded && this.entry.contains(document.activeElement)) this.toggle.focus();
    this.entry.hidden = isFolded;
    this.toggle.setAttribute("aria-expanded", String(!isFolded));
    this.toggle.firstElementChild.textContent = isFolded ? "Show" : "Hide";
  }

  // Asks the service about the credentials; only the latest question counts.
  async #learn() {
    this.latest += 1;
    const mine = this.latest;
    const isLocked = this.held !== null;
    if (!isLocked) this.changed({}, true);
    const learnt = await this.party.learn(this.service, this.held, this.form);
    if (mine !== this.latest) return;
    this.state.textContent = learnt.sentence;
    this.more.textContent = learnt.more ?? "";
    if (learnt.isRefused) this.#fold(false);
    this.changed(learnt, !isLocked);
  }
}
