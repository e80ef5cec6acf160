package explain

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/engine/deploy"
	"github.com/pawl-run/pawl/engine/hint"
	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/sandbox"
)

// Problems are the findings about a script as an author reads them, each with the text of its hint: as its fix, or at
// the end of its message where it has a fix already.
func Problems(found []deploy.Problem) []sandbox.Problem {
	var told []sandbox.Problem
	for _, p := range found {
		switch text := Hint(p.Hint); {
		case text == "":
		case p.Fix == "":
			p.Fix = text
		default:
			p.Message = Hinted(p.Message, text)
		}
		told = append(told, p.Problem)
	}
	return told
}

// Hint is the text of a hint, empty for none.
func Hint(h hint.Hint) string { return fmt.Sprintf(hints[h.Code], h.Values...) }

// Hinted is a message with the text of its hint at its end; an empty hint adds nothing.
func Hinted(message, hint string) string {
	if hint != "" {
		message += "; " + hint
	}
	return message
}

// Withdrawn says that grants were taken away because those that came with a deploy do not name them.
func Withdrawn(w eventlog.WorkflowName, grants []string) string {
	return fmt.Sprintf("taken away from %s: %s; --grant names all grants, and single ones are changed by "+
		"pawl grants %s CAPABILITY=GRANT", w, strings.Join(grants, ", "), w)
}

// hints are the texts of all codes, each with a verb for each of its values.
var hints = map[hint.Code]string{
	hint.Workflows:     "pawl workflows list shows those there are",
	hint.Recordings:    "write `recordings: {%s: {runs: 10000}}` into pawl.yaml and start again: later runs are recorded",
	hint.Recorded:      "pawl runs list --workflow %s shows the runs; of those older than the recordings nothing is kept",
	hint.OtherWorkflow: "send them to another workflow; pawl workflows list shows those there are",
	hint.Why:           "pawl why %s",
	hint.Waits:         "see what the workflow waits for: pawl why %s",
	hint.Resume:        "pawl resume %s",
	hint.Archived: "that is for good; its history stays, and its script can be deployed under another name (pawl " +
		"workflows source %s)",
	hint.RunActive:   "wait for it, or look at it: pawl why %s",
	hint.NoProducers: "its consumers run by themselves when an event arrives; pawl why %s says what it waits for",

	hint.Rename:          "change name: in the script",
	hint.FirstDeploy:     "leave out the expected version for a first deploy",
	hint.DeployOnRunning: "look at the running source (pawl workflows source %s) and deploy again",
	hint.RunningVersion:  "name the running one: pawl workflows show %s",
	hint.DeployInstead:   "deploy the script instead (pawl deploy)",
	hint.PersonDeploys:   "a person looks at the script and deploys it: pawl deploy FILE",
	hint.PersonLooks: "no further repair is taken: a person looks at it (pawl why %s), and deploys a corrected script " +
		"(pawl deploy FILE) or resumes it (pawl resume %s)",
	hint.KeepConsumer:     "keep consumer %s until the run is over (pawl why %s)",
	hint.KeepSubscription: "keep the subscription until the run is over (pawl why %s)",
	hint.PauseFirst:       "pause the workflow, and deploy once the run is over (pawl why %s)",
	hint.KeepUntilFree:    "keep it until nothing is held and no run is open; pawl why %s lists all of them",
	hint.Grants: `write {"connector.operation": "allow" | "ask" | "deny"}; connector.* and * are patterns; the first ` +
		`two may name a host: http.post@api.example.com; a secret is granted by its name: {"secret.NAME": ` +
		`"allow"}`,
	hint.GrantSecret: "grant it: pawl grants %s %s=allow",
	hint.Connector:   "see what it takes: pawl connectors show %s",
	hint.Connectors:  "`pawl connectors list` shows what there is",

	hint.Topics:       "its topics: %s",
	hint.Flatter:      "send it flatter, or the deep part of it as a text",
	hint.NumberAsText: "numbers end at about 1.8e308: send it as a text",
	hint.EventForm: "an event has a messageId of 1 to 512 bytes, which is its identity, and a title of one line for " +
		"people",
	hint.Payload:      "a payload is any JSON value, or left out",
	hint.FewerPending: "pawl why %s says what the workflow waits for; push again when fewer are pending",
	hint.Events:       "ids are case-sensitive; pawl events list --workflow %s shows those there are",
	hint.Jobs:         "pawl jobs list --workflow %s shows the state of each",
	hint.Actions:      "say one of them",
	hint.LookAgain:    "look at it again: pawl why %s",
	hint.AfterRun:     "redrive it once that run is over (pawl why %s)",
	hint.CancelFirst:  "pawl cancel %[1]s %[2]s MESSAGE-ID, then pawl redrive %[1]s %[2]s MESSAGE-ID",
	hint.SkipInstead:  "skip the event instead: pawl skip %s %s MESSAGE-ID",
	hint.RunProgress:  "see how far its run is: pawl why %s",
	hint.IncludingUnknown: "look at the other side; to redrive them all the same: --including-unknown, " +
		"or includingUnknown: true",

	hint.Mutations: "pawl mutations list shows those there are",
	hint.Outcome:   "see what became of it: pawl mutations show %s",
	hint.SkipApproved: "to keep it from leaving, skip its event, which pawl mutations show %[3]s names: " +
		"pawl skip %[1]s %[2]s MESSAGE-ID",
	hint.SettleFirst:     "first settle it: pawl mutations show %[1]s, or go on without it: pawl resolve %[1]s --skip",
	hint.SettleFirstWhy:  "first settle it: pawl why %s",
	hint.ApproveLater:    "approve it again later",
	hint.ApproveRecorded: "look at what is recorded, then approve that: pawl mutations show %s",
	hint.ApproveOrReject: "pawl approve %[1]s, or pawl reject %[1]s",
	hint.Settled:         "it is settled; see how: pawl mutations show %s",
	hint.CallOpen:        "its call is open; pawl why says until when",
	hint.Reconciling:     "the engine is still finding out what became of it, and asks next at %s; pawl why says more",
	hint.UnderWay:        "something of its call may be under way until %s; resolve it after that",
	hint.MayTakeEffect: "try again when it has ended, at most a few minutes after its deadline, or go on without its " +
		"events: pawl resolve %s --skip",
	hint.FindOut:     "find out yourself, then: pawl resolve %s --happened, --did-not-happen or --skip",
	hint.Resolutions: "look at the other side, then say which it is; pawl resolve --help explains them",
	hint.NoResult:    "leave the result out, or say that it happened",
	hint.JSONResult:  `write text in quotes, as in '"sent"', or leave the result out`,
	hint.Comment:     "shorten it, and keep the rest elsewhere",

	hint.Tokens:           "pawl tokens list shows those there are",
	hint.TokenName:        "name it after the program that will use it, e.g. backup-job",
	hint.TokenRole:        "give it the least role that will do",
	hint.TokenForAll:      "leave the workflow out for a token that is for all",
	hint.TokenForWorkflow: "make it a token for that workflow: pawl tokens create NAME --role ROLE --workflow %s",
	hint.TokenHash:        "a SHA-256 in hex is wanted",
	hint.TokenTaken:       "give the new one another name, or first revoke that one: pawl tokens revoke %s",
	hint.TokenInUse:       "make a new one",
	hint.LoginAgain:       "ask for a new link: pawl open",
	hint.RevokeUnused:     "revoke those that are not used any more: pawl tokens list, pawl tokens revoke NAME",

	hint.Subscriptions: "pawl subscriptions lists those that there are",

	hint.NamesKnown:     "pawl verify --accept-loss --names-known",
	hint.Verify:         "check the log and the local store: pawl verify",
	hint.VerifyWorkflow: "pawl verify says what is wrong with its log",
	hint.AcceptLoss:     "stop the engine, keep a copy of its data, then: pawl verify --accept-loss",
	hint.Newer: "install the pawl that the other nodes run (pawl cluster status names its version), and start this node " +
		"again",
	hint.ManualClock: "start it with --clock=manual",
}
