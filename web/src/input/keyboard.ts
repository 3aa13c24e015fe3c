/** Keys of the whole page. Where one types, only those with Ctrl or Alt, and Escape. */
import type { App } from "../app";
import { COMMANDS } from "./commands";
import { keyText, lookUp } from "./keymap";

const TYPES_IN = "input:not([type=checkbox]):not([type=file]), textarea, select, [contenteditable]";
/** Keys that a focused list or button needs for itself. */
const OWN = new Set(["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight", "PageDown", "PageUp", "Home", "End", "Space"]);

export function listenToKeys(app: App): () => void {
  const map = lookUp(COMMANDS);
  const down = (e: KeyboardEvent): void => {
    if (e.defaultPrevented || e.isComposing) return;
    const text = keyText(e);
    const target = e.target as HTMLElement;
    const modified = e.ctrlKey || e.metaKey || e.altKey;
    if (app.ui.get().dialog && text !== "Escape") return;
    if (target.matches(TYPES_IN)) {
      if (text === "Escape") target.blur();
      if (!modified || text === "Escape") return;
    }
    if (OWN.has(text) && target !== document.body && !target.closest("[data-tracks]")) return;
    const command = map.get(text);
    if (!command) return;
    e.preventDefault();
    if (command.hold) app.motion.hold(command.hold);
    else command.run(app);
  };
  const up = (e: KeyboardEvent): void => {
    const command = map.get(keyText(e));
    if (command?.hold) app.motion.release(command.hold);
  };
  const blur = (): void => app.motion.release();
  addEventListener("keydown", down);
  addEventListener("keyup", up);
  addEventListener("blur", blur);
  return () => {
    removeEventListener("keydown", down);
    removeEventListener("keyup", up);
    removeEventListener("blur", blur);
  };
}
