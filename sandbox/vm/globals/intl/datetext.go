package intl

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// narrowSpace stands before AM and PM. As a text, Node writes an ordinary space for it; as a part not.
const narrowSpace = "\u202f"

// Format writes a time, given in milliseconds since 1970.
func (f *DateFormat) Format(milliseconds int64) string {
	return strings.ReplaceAll(Text(f.Parts(milliseconds)), narrowSpace, " ")
}

// Parts is Format in pieces.
func (f *DateFormat) Parts(milliseconds int64) []Part {
	at := time.UnixMilli(milliseconds).In(f.zone)
	var parts []Part
	add := func(kind, value string) {
		if n := len(parts); kind == "literal" && n > 0 && parts[n-1].Type == kind {
			parts[n-1].Value += value
		} else if value != "" {
			parts = append(parts, Part{kind, value})
		}
	}
	for rest := f.pattern; rest != ""; {
		literal, field, found := strings.Cut(rest, "{")
		add("literal", literal)
		if !found {
			break
		}
		field, rest, _ = strings.Cut(field, "}")
		kind, value := f.field(field, at)
		add(kind, value)
	}
	return parts
}

func (f *DateFormat) field(name string, at time.Time) (kind, value string) {
	year := at.Year()
	if year <= 0 {
		year = 1 - year // of the era before
	}
	switch name {
	case "d":
		return "day", strconv.Itoa(at.Day())
	case "D":
		return "day", fmt.Sprintf("%02d", at.Day())
	case "m":
		return "month", strconv.Itoa(int(at.Month()))
	case "M":
		return "month", fmt.Sprintf("%02d", at.Month())
	case "y":
		return "year", strconv.Itoa(year)
	case "y2":
		return "year", fmt.Sprintf("%02d", year%100)
	case "h":
		return "hour", strconv.Itoa(f.hour(at))
	case "H":
		return "hour", fmt.Sprintf("%02d", f.hour(at))
	case "i":
		return "minute", strconv.Itoa(at.Minute())
	case "I":
		return "minute", fmt.Sprintf("%02d", at.Minute())
	case "s":
		return "second", strconv.Itoa(at.Second())
	case "S":
		return "second", fmt.Sprintf("%02d", at.Second())
	case "f":
		return "fractionalSecond", fmt.Sprintf("%09d", at.Nanosecond())[:f.fraction]
	case "p":
		return "dayPeriod", f.locale.Periods[at.Hour()/12]
	case "z":
		return "timeZoneName", f.zoneText(at)
	}
	list, number := f.locale.Weekdays, int(at.Weekday())
	kind = "weekday"
	if name[0] == 'M' {
		list, number, kind = f.locale.Months, int(at.Month())-1, "month"
	}
	return kind, list[name[1]-'0'][number]
}

// hour counts as the clock does.
func (f *DateFormat) hour(at time.Time) int {
	hour := at.Hour()
	switch f.cycle {
	case "h11":
		return hour % 12
	case "h12":
		return (hour+11)%12 + 1
	case "h24":
		return (hour+23)%24 + 1
	}
	return hour
}

func (f *DateFormat) zoneText(at time.Time) string {
	switch f.zoneName {
	case "short":
		return f.locale.Zones[0]
	case "long":
		return f.locale.Zones[1]
	}
	return f.locale.offset(at, f.zoneName == "longOffset")
}

// resolvedFields are the options that the fields of a pattern stand for.
var resolvedFields = map[string][2]string{
	"d": {"day", "numeric"}, "D": {"day", "2-digit"}, "m": {"month", "numeric"}, "M": {"month", "2-digit"},
	"y": {"year", "numeric"}, "y2": {"year", "2-digit"}, "h": {"hour", "numeric"}, "H": {"hour", "2-digit"},
	"i": {"minute", "numeric"}, "I": {"minute", "2-digit"}, "s": {"second", "numeric"}, "S": {"second", "2-digit"},
}

// Resolved are the options as they were understood: the fields that are written, and the zone by the
// name it was asked for. Node has other names for some zones, and errs with some fields.
func (f *DateFormat) Resolved() [][2]string {
	all := [][2]string{{"locale", f.locale.Name}, {"calendar", "gregory"}, {"numberingSystem", "latn"},
		{"timeZone", f.zone.String()}}
	if strings.Contains(f.pattern, "{h}") || strings.Contains(f.pattern, "{H}") {
		all = append(all, [2]string{"hourCycle", f.cycle}, [2]string{"hour12", strconv.FormatBool(f.cycle < "h23")})
	}
	if f.styles != [2]string{} {
		for i, name := range []string{"dateStyle", "timeStyle"} {
			if f.styles[i] != "" {
				all = append(all, [2]string{name, f.styles[i]})
			}
		}
		return all
	}
	for i, name := range []string{"weekday", "month"} {
		if f.names[i] != "" {
			all = append(all, [2]string{name, f.names[i]})
		}
	}
	for _, field := range strings.Split(f.pattern, "{") {
		name, _, _ := strings.Cut(field, "}")
		if option, ok := resolvedFields[name]; ok {
			all = append(all, option)
		}
	}
	if f.fraction > 0 {
		all = append(all, [2]string{"fractionalSecondDigits", strconv.Itoa(f.fraction)})
	}
	if f.zoneName != "" {
		all = append(all, [2]string{"timeZoneName", f.zoneName})
	}
	return all
}
