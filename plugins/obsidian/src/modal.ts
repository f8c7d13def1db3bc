// A question as a modal. All text is set as text, never as HTML or Markdown.

import { type App, Modal } from "obsidian";
import type { Card, CardAnswer } from "./service";

const LABELS: Record<string, string> = {
  once: "Allow once",
  task: "For this task",
  temporary: "15 minutes",
  always: "This session",
  remember: "Allow and remember",
  deny: "Deny",
};
/** Milliseconds after it appeared in which nothing is an answer: nobody can have read it. */
const RESTS = 500;

export type Answered = (given: CardAnswer, reason: string | null) => Promise<void>;

/** One question. It answers nothing by itself: closed without an answer, it stays open elsewhere. */
export class QuestionModal extends Modal {
  private shownAt = Number.POSITIVE_INFINITY;
  private readToEnd = false;
  private word = "";
  private reason = "";
  private sent = false;
  private said!: HTMLElement;
  private text!: HTMLElement;

  constructor(
    app: App,
    readonly card: Card,
    private readonly answered: Answered,
    private readonly left: () => void,
    private readonly clock: () => number = Date.now,
  ) {
    super(app);
  }

  onOpen(): void {
    const { contentEl, card } = this;
    this.titleEl.setText(`May this run? ${card.risk.toUpperCase()} risk`);
    contentEl.createEl("p", { text: card.title });
    this.text = contentEl.createEl("pre", { text: card.body, cls: "sayso-call" });
    this.text.addEventListener("scroll", () => this.look());
    contentEl.createEl("p", { text: `Question ${card.question}, digest ${card.digest}`, cls: "sayso-small" });
    if (card.risk === "high") this.drawWord();
    this.drawReason();
    const row = contentEl.createDiv({ cls: "modal-button-container" });
    for (const one of this.choices()) {
      const button = row.createEl("button", { text: LABELS[one.answer] ?? one.answer, attr: { title: one.covers } });
      button.addEventListener("click", () => this.give(one));
    }
    this.said = contentEl.createEl("p", { cls: "sayso-said" });
    this.shownAt = this.clock();
    this.look();
  }

  onClose(): void {
    this.contentEl.empty();
    this.left();
  }

  /** The answers that would count: above moderate risk a yes only where all of the call is here. */
  choices(): CardAnswer[] {
    const mayAllow = this.card.whole || this.card.risk !== "high";
    return this.card.answers.filter((one) => one.answer === "deny" || mayAllow);
  }

  /** Why this answer cannot be given now; null if it can. */
  refusal(given: CardAnswer): string | null {
    if (this.sent) return "An answer is under way.";
    if (this.clock() - this.shownAt < RESTS) return "Not so fast: read it first.";
    if (given.answer === "deny" || this.card.risk !== "high") return null;
    if (!this.readToEnd) return "Read to the end first: this is high risk.";
    if (this.word.trim().toLowerCase() !== "allow") return "Type the word allow: this is high risk.";
    return null;
  }

  async give(given: CardAnswer): Promise<void> {
    const why = this.refusal(given);
    if (why) return this.said.setText(why);
    this.sent = true;
    try {
      await this.answered(given, given.answer === "deny" ? this.reason.trim() || null : null);
      this.close();
    } catch (problem) {
      this.sent = false;
      this.said.setText(`Nothing was answered: ${problem instanceof Error ? problem.message : String(problem)}`);
    }
  }

  private look(): void {
    const { scrollTop, clientHeight, scrollHeight } = this.text;
    if (scrollTop + clientHeight >= scrollHeight - 2) this.readToEnd = true;
  }

  private drawWord(): void {
    const word = this.contentEl.createEl("input", { attr: { type: "text", placeholder: "type allow to approve" } });
    word.addEventListener("input", () => {
      this.word = word.value;
    });
  }

  private drawReason(): void {
    const reason = this.contentEl.createEl("input", {
      attr: { type: "text", placeholder: "reason for the agent, if you deny", maxlength: "500" },
    });
    reason.addEventListener("input", () => {
      this.reason = reason.value;
    });
  }
}
