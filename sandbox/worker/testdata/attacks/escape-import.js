// in: describe
// expect: script.import
import fs from "fs";
export default Keep.workflow({ name: fs.name });
