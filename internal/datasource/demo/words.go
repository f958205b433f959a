package demo

type city struct{ name, nameZH, country string }

// cities begins with those that have offices.
func cities() []city {
	return []city{
		{"Beijing", "北京", "China"},
		{"Shanghai", "上海", "China"},
		{"Guangzhou", "广州", "China"},
		{"Shenzhen", "深圳", "China"},
		{"Hangzhou", "杭州", "China"},
		{"Chengdu", "成都", "China"},
		{"Wuhan", "武汉", "China"},
		{"Nanjing", "南京", "China"},
		{"Xi'an", "西安", "China"},
		{"Hong Kong", "香港", "China"},
		{"Singapore", "新加坡", "Singapore"},
		{"Berlin", "柏林", "Germany"},
		{"London", "伦敦", "United Kingdom"},
		{"Sydney", "悉尼", "Australia"},
	}
}

type department struct {
	name, nameZH string
	titles       []string
}

func departments() []department {
	return []department{
		{"Engineering", "研发部", []string{"Software Engineer", "Senior Engineer", "Test Engineer", "Data Engineer"}},
		{"Sales", "销售部", []string{"Sales Representative", "Account Manager", "Sales Analyst"}},
		{"Marketing", "市场部", []string{"Designer", "Copywriter", "Campaign Planner"}},
		{"Finance", "财务部", []string{"Accountant", "Controller", "Payroll Clerk"}},
		{"Human Resources", "人力资源部", []string{"Recruiter", "HR Partner", "Trainer"}},
		{"Operations", "运营部", []string{"Buyer", "Warehouse Clerk", "Logistics Planner"}},
		{"Support", "客服部", []string{"Support Agent", "Support Engineer"}},
		{"Legal", "法务部", []string{"Counsel", "Compliance Officer"}},
	}
}

func skills() []string {
	return []string{"sql", "go", "python", "excel", "figma", "negotiation", "writing", "planning", "teaching", "law"}
}

func comments() []string {
	return []string{
		"Reliable and careful.", "Excellent year, ready for more.", "Has to plan better.", "Helps everybody.",
		"工作认真负责。", "今年进步很大。", "沟通能力有待提高。", "团队合作出色。", "Says \"done\" when it is done.",
	}
}

func firms() []named {
	return []named{
		{"Lotus", "莲花"},
		{"Golden Bridge", "金桥"},
		{"Blue Sky", "蓝天"},
		{"Evergreen", "长青"},
		{"Harbour", "海港"},
		{"Bright Star", "明星"},
		{"Red Maple", "红枫"},
		{"Great Wall", "长城"},
		{"Silk Road", "丝路"},
		{"Panda", "熊猫"},
	}
}

func trades() []named {
	return []named{
		{"Trading", "贸易"}, {"Design", "设计"}, {"Logistics", "物流"}, {"Software", "软件"}, {"Foods", "食品"}, {"Textiles", "纺织"},
	}
}

func offices() []named {
	return []named{{"University", "大学"}, {"City Library", "市图书馆"}, {"General Hospital", "总医院"}, {"Primary School", "小学"}}
}

func colors() []named {
	return []named{{"black", "黑色"}, {"white", "白色"}, {"red", "红色"}, {"blue", "蓝色"}, {"green", "绿色"}, {"grey", "灰色"}}
}

// A category is a kind of product; prices from low to high are in yuan.
type category struct {
	name, code string
	low, high  int
	quantity   int // at most, of an order
	kilos      int // at most
	things     []named
}

func categories() []category {
	return []category{
		{"furniture", "FUR", 299, 4999, 3, 60, []named{{"Desk", "办公桌"}, {"Office Chair", "办公椅"}, {"Bookshelf", "书架"}, {"Cabinet", "文件柜"}, {"Sofa", "沙发"}}},
		{"stationery", "STA", 3, 89, 20, 1, []named{{"Pen", "签字笔"}, {"Notebook", "笔记本"}, {"Stapler", "订书机"}, {"Folder", "文件夹"}, {"Marker", "记号笔"}}},
		{"electronics", "ELE", 99, 6999, 4, 8, []named{{"Monitor", "显示器"}, {"Keyboard", "键盘"}, {"Mouse", "鼠标"}, {"Projector", "投影仪"}, {"Printer", "打印机"}}},
		{"kitchen", "KIT", 19, 1299, 6, 9, []named{{"Coffee Machine", "咖啡机"}, {"Kettle", "水壶"}, {"Mug", "马克杯"}, {"Tea Set", "茶具"}, {"Lunch Box", "饭盒"}}},
		{"lighting", "LIG", 49, 899, 6, 5, []named{{"Desk Lamp", "台灯"}, {"Floor Lamp", "落地灯"}, {"LED Panel", "平板灯"}, {"Night Light", "小夜灯"}, {"Spotlight", "射灯"}}},
		{"books", "BOO", 25, 189, 8, 2, []named{{"Atlas", "地图册"}, {"Dictionary", "词典"}, {"Cookbook", "菜谱"}, {"Novel", "小说"}, {"Textbook", "教材"}}},
	}
}

func notes() []string {
	return []string{
		"请在工作日送货", "客户要求开发票", "送货前请打电话", "包装破损，已补发", "地址有误，已更正", "加急", "放在前台即可",
		"客户很满意 👍", "部分退货", "Please ring twice / 请按两次门铃", "注意：易碎品", "与上一单合并发货",
	}
}
