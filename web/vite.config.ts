import { defineConfig } from "vite";
import { oneFile } from "./one-file";

// Relative addresses: the server may serve the page from anywhere below its own root.
export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    outDir: "../src/probescope/views/timeline/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
  },
  server: { host: "127.0.0.1" }, // vitest starts one; a bare machine may have no name for itself
  plugins: [oneFile()],
});
