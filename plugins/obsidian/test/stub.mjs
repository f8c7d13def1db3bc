// Obsidian, as far as the plugin uses its documented API; and a person in front of it.

import { readFileSync } from "node:fs";

export class El {
  constructor(tag = "div", options = {}) {
    Object.assign(this, { tag, children: [], text: options.text ?? "", value: "", listeners: {} });
    Object.assign(this, { scrollTop: 0, clientHeight: 100, scrollHeight: 50 });
    this.attr = options.attr ?? {};
  }
  createEl(tag, options = {}) {
    const made = new El(tag, options);
    if (tag === "pre") made.scrollHeight = El.callHeight;
    this.children.push(made);
    return made;
  }
  createDiv(options = {}) {
    return this.createEl("div", options);
  }
  setText(text) {
    this.text = text;
  }
  empty() {
    this.children = [];
  }
  addEventListener(name, act) {
    this.listeners[name] = act;
  }
  fire(name) {
    return this.listeners[name]?.();
  }
  all(tag) {
    return [...(this.tag === tag ? [this] : []), ...this.children.flatMap((one) => one.all(tag))];
  }
  get words() {
    return [this.text, ...this.children.map((one) => one.words)].join("\n");
  }
}
El.callHeight = 50;

/** A world with this plugin loaded. `send` answers its requests. */
export async function load(bundle, send, { data = null, kept = {} } = {}) {
  const world = { notices: [], modals: [], saved: null, kept: { ...kept }, commands: [], ticks: [] };
  class Modal {
    constructor() {
      this.contentEl = new El();
      this.titleEl = new El();
    }
    open() {
      world.modals.push(this);
      this.onOpen();
    }
    close() {
      world.modals = world.modals.filter((one) => one !== this);
      this.onClose();
    }
  }
  class Plugin {
    constructor(app) {
      this.app = app;
    }
    loadData = async () => data;
    saveData = async (value) => {
      world.saved = value;
    };
    addSettingTab(tab) {
      world.settings = tab;
    }
    addCommand(command) {
      world.commands.push(command);
    }
    registerInterval(id) {
      return id;
    }
  }
  class PluginSettingTab {
    containerEl = new El();
  }
  class Setting {
    setName(name) {
      this.name = name;
      return this;
    }
    setDesc() {
      return this;
    }
    addText(draw) {
      const field = { inputEl: {}, setPlaceholder: () => field, setValue: () => field };
      field.onChange = (act) => {
        world.fields = { ...world.fields, [this.name]: act };
        return field;
      };
      draw(field);
      return this;
    }
  }
  class Notice {
    constructor(text) {
      world.notices.push(text);
    }
  }
  const requestUrl = async ({ url, headers, body }) => send(url, headers, body);
  const obsidian = { Modal, Plugin, PluginSettingTab, Setting, Notice, requestUrl };
  const app = {
    loadLocalStorage: (key) => world.kept[key] ?? null,
    saveLocalStorage: (key, value) => {
      world.kept[key] = value;
    },
  };
  const window = { setInterval: (act) => world.ticks.push(act) };
  const module = { exports: {} };
  const code = readFileSync(bundle, "utf8");
  new Function("module", "exports", "require", "window", code)(module, module.exports, () => obsidian, window);
  world.plugin = new module.exports.default(app);
  await world.plugin.onload();
  return world;
}

/** Press the button with this text on the question on show. */
export function press(world, text) {
  const button = world.modals.at(-1).contentEl.all("button").find((one) => one.text === text);
  if (!button) throw new Error(`there is no button ${text}`);
  return button.fire("click");
}

export const buttons = (world) => world.modals.at(-1).contentEl.all("button").map((one) => one.text);
export const shown = (world) => `${world.modals.at(-1).titleEl.text}\n${world.modals.at(-1).contentEl.words}`;
/** Type into the field with these words in it. */
export function type(world, placeholder, text) {
  const field = world.modals.at(-1).contentEl.all("input").find((one) => one.attr.placeholder.includes(placeholder));
  field.value = text;
  field.fire("input");
}
