package vm

import (
	"math"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"github.com/pawl-run/pawl/sandbox"
	"github.com/pawl-run/pawl/sandbox/script"
	"github.com/pawl-run/pawl/sandbox/vm/value"
)

// The members that mean something.
var (
	workflowMembers = []string{"name", "topics", "producers", "consumers", "hooks"}
	producerMembers = []string{"interval", "cron", "timezone", "runOnDeploy", "publishes", "handler", "run", "poll"}
	consumerMembers = []string{"subscribe", "publishes", "prepare", "mutate", "next", "mutateReads", "maxAttempts",
		"concurrency", "key", "rate", "approval", "deadLetter"}
)

// read reads the whole definition; what is wrong is left out of it and becomes a problem.
func (r *reader) read(exported goja.Value) {
	workflow, ok := value.AsObject(exported)
	if !ok {
		r.definition.Incomplete = true
		if value.Undefined(exported) {
			r.fail("shape.default", "write "+script.WorkflowShape, nil,
				"the script has no default export, which must be a workflow")
		} else {
			r.fail("shape.default", "write "+script.WorkflowShape, nil,
				"the default export must be a workflow, and is %s", value.KindOf(exported))
		}
		return
	}
	if !slices.ContainsFunc(r.workflows, func(v goja.Value) bool { return v.SameAs(workflow) }) {
		r.fail("shape.default", "wrap the object: "+script.WorkflowShape, nil,
			"the default export was not made by Pawl.workflow")
	}
	r.unknown(workflow, nil, "a workflow", workflowMembers...)
	if name := workflow.Get("name"); name != nil && value.IsText(name) && name.String() != "" {
		r.definition.Name = name.String()
	} else {
		r.fail("shape.name", r.misspelt(workflow, "name", workflowMembers, `add a name: name: "my-workflow"`),
			[]string{"name"}, "name must be a non-empty string, and is %s", value.KindOf(name))
	}
	r.topics(workflow.Get("topics"))
	r.producers(workflow.Get("producers"))
	r.consumers(workflow.Get("consumers"))
	r.hooks(workflow.Get("hooks"))
	meant := r.misspelt(workflow, "producers", workflowMembers, "") + r.misspelt(workflow, "consumers", workflowMembers,
		"")
	if d := &r.definition; len(d.Producers) == 0 && len(d.Consumers) == 0 && !d.Lacks("producers") &&
		!d.Lacks("consumers") && meant == "" {
		r.fail("shape.empty", "write "+script.WorkflowShape, nil,
			"the workflow has neither producers nor consumers, so nothing would ever run")
	}
}

func (r *reader) topics(v goja.Value) {
	topics, ok := value.AsObject(v)
	if !ok || value.IsArray(topics) {
		fix := `list the topics as keys: topics: { "email.received": {} }`
		if names := value.Texts(v); len(names) > 0 {
			fix = "write topics: { " + sandbox.Clip(sandbox.Quoted(names), 300) + ": {} }"
			fix = strings.ReplaceAll(fix, `", "`, `": {}, "`)
		}
		r.fail("shape.topics", fix, []string{"topics"}, "topics must be an object whose keys are the topics, and is %s",
			value.KindOf(v))
		return
	}
	r.definition.Topics = topics.Keys()
}

func (r *reader) producers(v goja.Value) {
	producers, ok := r.group(v, "producers", "shape.producer")
	if !ok {
		return
	}
	for _, name := range producers.Keys() {
		path := []string{"producers", name}
		p := sandbox.ProducerDefinition{Name: name}
		written := producers.Get(name)
		if _, callable := goja.AssertFunction(written); callable {
			p.Bare = true
			r.definition.Producers = append(r.definition.Producers, p)
			continue
		}
		producer, ok := value.AsObject(written)
		if !ok {
			r.fail("shape.producer", `write `+name+`: async (ctx, state) => { … } or `+name+
				`: { interval: "5m", async handler(ctx, state) { … } }`,
				path, "producer %q must be a function or an object, and is %s", name, value.KindOf(written))
			r.definition.Producers = append(r.definition.Producers, p)
			continue
		}
		r.unknown(producer, path, "a producer", producerMembers...)
		p.Interval = r.option(producer, path, "interval", "shape.producer", `write a duration as text: interval: "5m"`)
		p.Cron = r.option(producer, path, "cron", "shape.producer",
			`write a cron expression as text: cron: "0 9 * * 1-5"`)
		p.Timezone = r.option(producer, path, "timezone", "shape.producer",
			`write a zone's name: timezone: "Europe/Berlin"`)
		p.RunOnDeploy = r.flag(producer, path, "runOnDeploy", "shape.producer")
		p.Publishes = r.names(producer, path, "publishes", "shape.producer")
		p.Bare = p.Interval == "" && p.Cron == ""
		if p.Interval != "" && p.Cron != "" {
			r.fail("shape.producer", "keep one of the two", append(path, "cron"),
				"producer %q has both an interval and a cron expression", name)
		}
		functions := slices.DeleteFunc(slices.Clone(script.ProducerHandlers), func(h string) bool {
			_, callable := goja.AssertFunction(producer.Get(h))
			return !callable
		})
		switch len(functions) {
		case 0:
			r.fail("shape.producer", r.misspelt(producer, "handler", producerMembers,
				"add async handler(ctx, state) { … }"), append(path, "handler"), "producer %q has no function handler",
				name)
		case 1:
		default:
			r.fail("shape.producer", "keep one of them, named handler", append(path, functions[1]),
				"producer %q has several functions: %s", name, strings.Join(functions, ", "))
		}
		r.definition.Producers = append(r.definition.Producers, p)
	}
}

func (r *reader) consumers(v goja.Value) {
	consumers, ok := r.group(v, "consumers", "shape.consumer")
	if !ok {
		return
	}
	for _, name := range consumers.Keys() {
		path := []string{"consumers", name}
		c := sandbox.ConsumerDefinition{Name: name}
		consumer, ok := value.AsObject(consumers.Get(name))
		if _, callable := goja.AssertFunction(consumers.Get(name)); !ok || callable {
			r.fail("shape.consumer", "write "+name+`: Pawl.consumer({ subscribe: ["…"], async prepare(ctx, state) { … `+
				`}, async mutate(ctx, prepared) { … }, async next(ctx, prepared, result) { … } })`,
				path, "consumer %q must be an object, and is %s", name, value.KindOf(consumers.Get(name)))
			r.definition.Consumers = append(r.definition.Consumers, c)
			continue
		}
		r.unknown(consumer, path, "a consumer", consumerMembers...)
		c.Subscribe = r.names(consumer, path, "subscribe", "shape.consumer")
		if c.Subscribe == nil && consumer.Get("subscribe") == nil || c.Subscribe != nil && len(c.Subscribe) == 0 {
			r.fail("shape.consumer", r.misspelt(consumer, "subscribe", consumerMembers, `add subscribe: ["topic"]`),
				append(path, "subscribe"), "consumer %q subscribes to no topic", name)
		}
		c.Publishes = r.names(consumer, path, "publishes", "shape.consumer")
		if !r.function(consumer, path, "prepare") && value.Undefined(consumer.Get("prepare")) {
			r.fail("shape.consumer", r.misspelt(consumer, "prepare", consumerMembers,
				"add async prepare(ctx, state) { … return "+script.ResultShape+" }"), append(path, "prepare"),
				"consumer %q has no function prepare", name)
		}
		c.HasMutate = r.function(consumer, path, "mutate")
		c.HasNext = r.function(consumer, path, "next")
		if reads := consumer.Get("mutateReads"); !value.Undefined(reads) {
			if c.MutateReadsByID = value.IsText(reads) && reads.String() == "byId"; !c.MutateReadsByID {
				r.fail("shape.consumer", `write mutateReads: "byId", or leave it out`, append(path, "mutateReads"),
					`mutateReads of consumer %q must be "byId", and is %s`, name, value.KindOf(reads))
			}
		}
		c.MaxAttempts = r.maxAttempts(consumer, path, name)
		c.Concurrency = r.concurrency(consumer, path, name)
		c.Key = r.option(consumer, path, "key", "shape.concurrency",
			`write the path of a value in the payload as text: key: "customer.id"`)
		c.Rate = r.option(consumer, path, "rate", "shape.concurrency",
			`write how many runs may begin in a second, a minute or an hour: rate: "10/s"`)
		c.Approval = r.approval(consumer, path, name)
		c.DeadLetter = r.option(consumer, path, "deadLetter", "shape.consumer",
			`write the topic that receives what is discarded: deadLetter: "order.failed"`)
		r.definition.Consumers = append(r.definition.Consumers, c)
	}
}

// approval reads whether a person approves the calls of a consumer.
func (r *reader) approval(consumer *goja.Object, path []string, name string) string {
	v := consumer.Get("approval")
	if value.Undefined(v) {
		return ""
	}
	if _, callable := goja.AssertFunction(v); callable {
		return sandbox.ApprovalScript
	}
	if value.IsText(v) && v.String() == sandbox.ApprovalAsk {
		return sandbox.ApprovalAsk
	}
	r.fail("shape.consumer", `write approval: "ask", or approval: (prepared) => prepared.data.total > 1000`,
		append(path, "approval"), `approval of consumer %q must be "ask" or a function, and is %s`, name,
		value.KindOf(v))
	return ""
}

// concurrency reads how many events a consumer works on at once. Which numbers are allowed is not decided here.
func (r *reader) concurrency(consumer *goja.Object, path []string, name string) *int {
	v := consumer.Get("concurrency")
	if value.Undefined(v) {
		return nil
	}
	if n, ok := value.Number(v); ok && n == math.Trunc(n) && math.Abs(n) <= math.MaxInt32 {
		events := int(n)
		return &events
	}
	r.fail("shape.concurrency", "write how many events are worked on at once, for example concurrency: 16",
		append(path, "concurrency"), "concurrency of consumer %q must be a whole number, and is %s", name,
		value.KindOf(v))
	return nil
}

func (r *reader) maxAttempts(consumer *goja.Object, path []string, name string) *int {
	v := consumer.Get("maxAttempts")
	if value.Undefined(v) {
		return nil
	}
	if n, ok := value.Number(v); ok && n >= 0 && n == math.Trunc(n) && n <= 1000 {
		attempts := int(n)
		return &attempts
	}
	r.fail("shape.consumer", "write how many retries a job gets, for example maxAttempts: 3",
		append(path, "maxAttempts"),
		"maxAttempts of consumer %q must be a whole number from 0 to 1000, and is %s", name, value.KindOf(v))
	return nil
}
