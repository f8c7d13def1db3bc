// The plugin: fetches what waits every few seconds, and shows one question at a time.

import { type App, Notice, Plugin, PluginSettingTab, requestUrl, Setting } from "obsidian";
import { QuestionModal } from "./modal";
import { type Card, type CardAnswer, fetchCards, giveAnswer, type Place, type Send } from "./service";

const EVERY = 3_000;
const SECRET = "sayso-secret";

interface Settings {
  url: string;
  surface: string;
  name: string;
}

const USUAL: Settings = { url: "http://127.0.0.1:7333", surface: "obsidian", name: "" };

const send: Send = async (url, headers, body) => {
  const reply = await requestUrl({ url, method: "POST", headers, body, throw: false });
  return { status: reply.status, headers: reply.headers, text: reply.text };
};

export default class SaysoPlugin extends Plugin {
  settings: Settings = USUAL;
  shown: QuestionModal | null = null;
  private readonly putOff = new Set<string>();
  private told = "";
  private reading = false;

  async onload(): Promise<void> {
    this.settings = { ...USUAL, ...((await this.loadData()) as Partial<Settings> | null) };
    this.addSettingTab(new SaysoSettings(this.app, this));
    this.addCommand({ id: "show-questions", name: "Show what waits", callback: () => this.showAgain() });
    this.registerInterval(window.setInterval(() => void this.look(), EVERY));
    void this.look();
  }

  onunload(): void {
    this.shown?.close();
  }

  /**
   * Kept outside the vault: what lies in it is synced, and agents that work in it can read it.
   */
  get secret(): string {
    return String(this.app.loadLocalStorage(SECRET) ?? "");
  }

  set secret(value: string) {
    this.app.saveLocalStorage(SECRET, value || null);
  }

  get place(): Place {
    return { url: this.settings.url, surface: this.settings.surface, secret: this.secret };
  }

  /** Fetch what waits. A question that was answered elsewhere leaves the screen; the next one takes its turn. */
  async look(): Promise<void> {
    if (!this.secret || !this.settings.name || this.reading) return;
    this.reading = true;
    try {
      const cards = await fetchCards(this.place, send);
      this.told = "";
      this.show(cards);
    } catch (problem) {
      this.tell(`Sayso: ${problem instanceof Error ? problem.message : String(problem)}`);
    } finally {
      this.reading = false;
    }
  }

  private show(cards: Card[]): void {
    const waiting = new Set(cards.map((one) => one.question));
    for (const one of this.putOff) if (!waiting.has(one)) this.putOff.delete(one);
    if (this.shown && !waiting.has(this.shown.card.question)) {
      new Notice("Sayso: it was answered elsewhere, or its time is over.");
      this.shown.close();
    }
    const next = cards.find((one) => !this.putOff.has(one.question));
    if (this.shown || !next) return;
    const modal = new QuestionModal(
      this.app,
      next,
      (given, reason) => this.give(next, given, reason),
      () => this.leave(next),
    );
    this.shown = modal;
    modal.open();
  }

  private async give(card: Card, given: CardAnswer, reason: string | null): Promise<void> {
    const stands = await giveAnswer(this.place, card, given, this.settings.name, reason, send);
    const how = stands.yours ? `You answered: ${given.answer}.` : `Already ${stands.state}: ${stands.answer ?? "no answer"}.`;
    new Notice(`Sayso: ${how}`);
  }

  /** Whoever closes a question without an answer is not shown it again until they ask for it. */
  private leave(card: Card): void {
    this.putOff.add(card.question);
    this.shown = null;
  }

  private showAgain(): void {
    this.putOff.clear();
    void this.look();
  }

  /** A problem is told once, and not every three seconds. */
  private tell(text: string): void {
    if (text !== this.told) new Notice(text);
    this.told = text;
  }
}

class SaysoSettings extends PluginSettingTab {
  constructor(
    app: App,
    private readonly plugin: SaysoPlugin,
  ) {
    super(app, plugin);
  }

  display(): void {
    this.containerEl.empty();
    this.text("Address", "Where the service is: this machine, or an https:// address.", "url");
    this.text("Surface", "Its name in `sayso surfaces list`.", "surface");
    this.text("Your name", "One of the approvers of that surface.", "name");
    new Setting(this.containerEl)
      .setName("Secret")
      .setDesc("Kept on this device, outside the vault.")
      .addText((text) => {
        text.inputEl.type = "password";
        text.setPlaceholder("whsec_…").setValue(this.plugin.secret);
        text.onChange((value) => {
          this.plugin.secret = value.trim();
        });
      });
  }

  private text(name: string, about: string, key: keyof Settings): void {
    new Setting(this.containerEl)
      .setName(name)
      .setDesc(about)
      .addText((text) =>
        text.setValue(this.plugin.settings[key]).onChange(async (value) => {
          this.plugin.settings[key] = value.trim();
          await this.plugin.saveData(this.plugin.settings);
        }),
      );
  }
}
