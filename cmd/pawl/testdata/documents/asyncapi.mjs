// Prints what the parser of AsyncAPI finds in the document that its argument names: nothing for one that is valid and
// follows the recommended rules. It is run in the folder with the packages of package.json.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const { Parser } = createRequire(`${process.cwd()}/package.json`)("@asyncapi/parser");
const { document, diagnostics } = await new Parser().parse(await readFile(process.argv[2], "utf8"));
for (const found of diagnostics) {
  console.log(`${found.code} at ${found.path.join(".")}: ${found.message}`);
}
if (document === undefined) console.log("it is no AsyncAPI document");
