/**
 * Beside index.html, one-file.html: the same page with its script and style inside, which asks for nothing.
 *
 *     <meta CSP: nothing but this script and this style, by their hashes>
 *     <style>...</style> <div id="app"> <!--probescope:data--> <script type="module">...</script>
 *
 * The exporter puts blocks of data (which are no script: no browser runs text/plain) where the comment is.
 */
import { createHash } from "node:crypto";
import type { Plugin } from "vite";

export const PLACE = "<!--probescope:data-->";

const hash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

export function page(script: string, style: string): string {
  // the end tag of a script ends it wherever it stands, in a string too
  const code = script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const csp = `default-src 'none'; script-src ${hash(code)}; style-src ${hash(style)}; img-src data:`;
  return [
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${csp}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<link rel="icon" href="data:,">',
    `<title>probescope</title>\n<style>${style}</style>\n</head>\n<body>\n<div id="app"></div>`,
    PLACE,
    `<script type="module">${code}</script>\n</body>\n</html>\n`,
  ].join("\n");
}

export function oneFile(): Plugin {
  return {
    name: "one-file",
    // behind the plugin that gathers the style
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      for (const part of Object.values(bundle)) {
        if (part.type === "chunk") script += part.code;
        else if (part.fileName.endsWith(".css")) style += String(part.source);
      }
      this.emitFile({ type: "asset", fileName: "one-file.html", source: page(script, style) });
    },
  };
}
