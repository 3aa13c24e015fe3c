/** Files by the browser's own dialogs: nothing is sent anywhere. */

export function saveText(name: string, text: string, type = "application/json"): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function openText(accept: string): Promise<string> {
  return new Promise((resolve) => {
    // one that was cancelled told nobody
    document.getElementById("session-file")?.remove();
    const input = document.createElement("input");
    input.type = "file";
    input.accept = accept;
    input.id = "session-file";
    input.hidden = true;
    input.onchange = () => {
      const file = input.files?.[0];
      input.remove();
      if (file) void file.text().then(resolve);
    };
    document.body.append(input);
    input.click();
  });
}
